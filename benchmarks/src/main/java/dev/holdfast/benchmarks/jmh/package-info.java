/** The hot paths alone, without sockets and without a container. */
@NullMarked
package dev.holdfast.benchmarks.jmh;

import org.jspecify.annotations.NullMarked;
