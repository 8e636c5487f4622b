/** Texts for people: durations, and what others wrote made fit for a log. */
@NullMarked
package dev.holdfast.gateway.text;

import org.jspecify.annotations.NullMarked;
