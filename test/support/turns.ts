/**
 * Resolves when the event loop has turned so often that whatever waited for turns alone has gone on. On a busy machine no
 * time says this.
 */
export async function turns(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
