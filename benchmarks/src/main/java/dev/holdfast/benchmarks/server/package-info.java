/** What is measured: servers, each in a process of its own. */
@NullMarked
package dev.holdfast.benchmarks.server;

import org.jspecify.annotations.NullMarked;
