/** Resolves with the first truthy answer of `condition`, asked again and again; fails after `ms` naming `what`. */
export async function waitFor(what, condition, ms = 30_000) {
  const deadline = Date.now() + ms;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}
