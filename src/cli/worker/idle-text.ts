/** Begins the line in which a worker says why it waits. `gen fleet` finds it in the output of its workers. */
export const IDLE_PREFIX = 'No work can be claimed now: ';
