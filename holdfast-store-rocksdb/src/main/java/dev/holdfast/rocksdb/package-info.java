/**
 * A {@link dev.holdfast.spi.SessionStore} in a folder on disk, on RocksDB: {@link dev.holdfast.rocksdb.RocksDbStore}. Sessions
 * survive the process, and power loss where that is wanted.
 */
@NullMarked
package dev.holdfast.rocksdb;

import org.jspecify.annotations.NullMarked;
