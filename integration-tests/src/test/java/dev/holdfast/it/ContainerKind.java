package dev.holdfast.it;

import java.time.Duration;

/** The containers that every test runs in. */
enum ContainerKind {
    JETTY {
        @Override
        Container create(int threads, Duration writeTimeout) {
            return new JettyContainer(threads);
        }
    },
    TOMCAT {
        @Override
        Container create(int threads, Duration writeTimeout) {
            return new TomcatContainer(threads, writeTimeout);
        }
    };

    /**
     * A container, not yet started.
     *
     * @param threads how many threads it may use, its own few for selecting and accepting apart
     * @param writeTimeout when it gives up a connection that takes no bytes, if it has a say in that
     */
    abstract Container create(int threads, Duration writeTimeout);
}
