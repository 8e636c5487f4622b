/** What operators see of the MCP clients of an application. */
@NullMarked
package dev.holdfast.spring.client.actuate;

import org.jspecify.annotations.NullMarked;
