/** Puts Holdfast into an application, in the place of the transport it had, and what an operator sees of it. */
@NullMarked
package dev.holdfast.spring.autoconfigure;

import org.jspecify.annotations.NullMarked;
