/** The properties {@code holdfast.*}, and the settings of the transport that they give. */
@NullMarked
package dev.holdfast.spring.properties;

import org.jspecify.annotations.NullMarked;
