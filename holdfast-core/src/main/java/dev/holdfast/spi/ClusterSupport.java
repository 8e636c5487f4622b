package dev.holdfast.spi;

/** What makes an engine one of the nodes that share a store: that of {@code holdfast-cluster}. What is in it only engines know. */
public interface ClusterSupport {}
