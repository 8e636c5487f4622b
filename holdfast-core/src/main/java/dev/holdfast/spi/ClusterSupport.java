package dev.holdfast.spi;

/**
 * Makes an engine one of the nodes that share a store. A store gets it from {@code holdfast-cluster} and returns it from
 * {@link SessionStore#cluster}; nobody but engines looks into it.
 */
public interface ClusterSupport {}
