/** What an application of Spring Boot can give to Holdfast as a bean. */
@NullMarked
package dev.holdfast.spring;

import org.jspecify.annotations.NullMarked;
