/** What the backends of Holdfast have in common: the requests of a server to its client, and what a server says in a log. Internal. */
@NullMarked
package dev.holdfast.json.backend;

import org.jspecify.annotations.NullMarked;
