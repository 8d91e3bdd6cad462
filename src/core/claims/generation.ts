import type { Rules } from './policy.js';

/** The generation of the next grant. After a loss of history it is above all that may have been granted in what was lost. */
export const nextGeneration = (generation: number, { generation_floor }: Rules): number =>
  Math.max(generation, generation_floor) + 1;

/** Whether a subject may not be granted again. Grants from before a loss of history do not count. */
export const isExhausted = (
  generation: number,
  { generation_floor, max_generations_per_task }: Rules,
): boolean => generation - generation_floor >= max_generations_per_task;
