package dev.holdfast.rocksdb;

/** What a store may take: memory outside of the heap, and bytes of its log on disk. */
record StoreLimits(long memoryBytes, long logBytes) {}
