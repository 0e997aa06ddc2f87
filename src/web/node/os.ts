/** No threads: those of browsers are not those of Node. */
export const availableParallelism = () => 1
