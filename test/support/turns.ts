/**
 * Resolves after enough turns of the event loop for all work that waits only for turns. A timeout cannot guarantee that
 * on a busy machine.
 */
export async function turns(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
