package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.HttpLoad;
import dev.holdfast.benchmarks.load.Load;
import dev.holdfast.benchmarks.load.Meter;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.load.Workload;
import java.io.IOException;
import java.util.List;

/**
 * A server that is compared.
 *
 * @param name how it is called in results; names that begin with {@code floor} or {@code sdk} have no MCP behind their port
 * @param platform what runs it
 * @param start how it is started
 * @param loading how it is kept busy
 */
record Peer(String name, Platform platform, Start start, Loading loading) {

    /** What runs a server. */
    enum Platform {
        JVM,
        NODE,
        NATIVE
    }

    /** The command line of a server. */
    @FunctionalInterface
    interface Start {
        List<String> command(int port);
    }

    /** Gets a load ready. */
    @FunctionalInterface
    interface Loading {
        Load open(Target target, Workload workload, Meter meter) throws IOException, InterruptedException;
    }

    /** A server on the JVM that is called over HTTP. */
    static Peer onJvm(String name, Start start) {
        return new Peer(name, Platform.JVM, start, HttpLoad::new);
    }

    /** A server on Node that is called over HTTP. */
    static Peer onNode(String name, Start start) {
        return new Peer(name, Platform.NODE, start, HttpLoad::new);
    }

    Peer named(String other) {
        return new Peer(other, platform, start, loading);
    }

    Peer startedBy(Start other) {
        return new Peer(name, platform, other, loading);
    }

    Peer with(Loading other) {
        return new Peer(name, platform, start, other);
    }
}
