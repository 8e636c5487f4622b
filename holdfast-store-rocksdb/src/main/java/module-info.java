/** Sessions in a folder on disk. */
@SuppressWarnings("requires-automatic") // rocksdbjni has no module descriptor: its name here is that of its file
module dev.holdfast.rocksdb {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.core;
    requires org.slf4j;
    requires rocksdbjni;

    exports dev.holdfast.rocksdb;
}
