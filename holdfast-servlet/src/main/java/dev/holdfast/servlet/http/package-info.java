/** One HTTP request: its body on its way, the memory it takes, its single answer, and how its handling goes on when a stage completes. */
@NullMarked
package dev.holdfast.servlet.http;

import org.jspecify.annotations.NullMarked;
