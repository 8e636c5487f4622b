/** What people write and read: durations, the files that options name, and why the gateway cannot run. */
@NullMarked
package dev.holdfast.gateway.text;

import org.jspecify.annotations.NullMarked;
