import type { Rules } from './policy.js';

/**
 * The generation of the next grant. After a loss of history it exceeds every generation that may have been granted in the
 * lost part.
 */
export const nextGeneration = (generation: number, { generation_floor }: Rules): number =>
  Math.max(generation, generation_floor) + 1;

/** Whether the subject has reached its limit of grants. Grants before a loss of history are not counted. */
export const isExhausted = (
  generation: number,
  { generation_floor, max_generations_per_task }: Rules,
): boolean => generation - generation_floor >= max_generations_per_task;
