/** What an operator sees of Holdfast: health, and the endpoint {@code holdfast}. */
@NullMarked
package dev.holdfast.spring.actuate;

import org.jspecify.annotations.NullMarked;
