/** One node among others: its lease, its part of each session, and how it reads, ends and hears of what other nodes have. */
@NullMarked
package dev.holdfast.cluster;

import org.jspecify.annotations.NullMarked;
