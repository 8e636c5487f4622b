/** What an engine does, as Micrometer's meters and observations. */
@NullMarked
package dev.holdfast.micrometer;

import org.jspecify.annotations.NullMarked;
