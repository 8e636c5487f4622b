/** Reads request bodies without blocking a thread, within bounds of size, memory and time. */
@NullMarked
package dev.holdfast.servlet.body;

import org.jspecify.annotations.NullMarked;
