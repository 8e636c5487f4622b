/** The contract of a session store as JUnit classes. A module that extends them opens its own package to JUnit. */
module dev.holdfast.tck {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.cluster;
    requires transitive dev.holdfast.core;
    requires transitive org.junit.jupiter.api;
    requires org.assertj.core;
    requires org.slf4j;

    exports dev.holdfast.tck;

    opens dev.holdfast.tck to
            org.junit.platform.commons;
}
