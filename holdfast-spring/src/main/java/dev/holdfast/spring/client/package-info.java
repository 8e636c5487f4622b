/** The MCP clients of an application of Spring Boot, and what an application can give to them as a bean. */
@NullMarked
package dev.holdfast.spring.client;

import org.jspecify.annotations.NullMarked;
