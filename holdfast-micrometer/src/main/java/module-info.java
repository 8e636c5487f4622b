/** What an engine does, as Micrometer's meters and observations. */
// Micrometer has no module descriptor
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module dev.holdfast.micrometer {
    requires static dev.holdfast.cluster;
    requires static transitive micrometer.core;
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.core;
    requires transitive dev.holdfast.json;
    requires transitive micrometer.commons;
    requires transitive micrometer.observation;

    exports dev.holdfast.micrometer;
}
