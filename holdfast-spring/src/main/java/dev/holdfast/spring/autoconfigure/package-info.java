/** Puts Holdfast into an application, in the place of the transport it had. */
@NullMarked
package dev.holdfast.spring.autoconfigure;

import org.jspecify.annotations.NullMarked;
