/** Puts Holdfast under the MCP clients of Spring AI. */
@NullMarked
package dev.holdfast.spring.client.autoconfigure;

import org.jspecify.annotations.NullMarked;
