/** Requests of the stateless revision, as calls of ordinary sessions. */
@SuppressWarnings("module") // the edge stands on this module, and is not there yet when it is compiled
module dev.holdfast.modern {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.core;
    requires transitive dev.holdfast.json;
    requires org.slf4j;

    exports dev.holdfast.modern to
            dev.holdfast.servlet;
}
