/** The properties {@code holdfast.*}, and what they come to for the transport. */
@NullMarked
package dev.holdfast.spring.properties;

import org.jspecify.annotations.NullMarked;
