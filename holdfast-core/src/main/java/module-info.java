/**
 * Sessions, streams, cursors and lifecycle. Needs the JDK and slf4j-api only.
 *
 * <p>{@code dev.holdfast.log} and {@code dev.holdfast.session} are internal.
 */
@SuppressWarnings("module") // dev.holdfast.cluster stands on this module, and is not there yet when it is compiled
module dev.holdfast.core {
    requires static transitive org.jspecify;
    requires org.slf4j;

    exports dev.holdfast;
    exports dev.holdfast.engine;
    exports dev.holdfast.log to
            dev.holdfast.cluster;
    exports dev.holdfast.session to
            dev.holdfast.cluster;
    exports dev.holdfast.spi;
}
