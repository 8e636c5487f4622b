/** What the packages above share: the clock of the edge, threads that may block, and how a failed connection is logged. */
@NullMarked
package dev.holdfast.servlet.io;

import org.jspecify.annotations.NullMarked;
