/** Spring Security's word on who asks. */
@NullMarked
package dev.holdfast.spring.security;

import org.jspecify.annotations.NullMarked;
