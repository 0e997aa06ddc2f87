/** No threads: browsers have no `worker_threads`. */
export const availableParallelism = () => 1
