/** Child processes: started, written to, read line by line, and ended with all that they started. Knows no MCP. */
@NullMarked
package dev.holdfast.gateway.process;

import org.jspecify.annotations.NullMarked;
