import { runSeed } from '../run-seed.js';
import type { SeedRunOptions } from '../scenario/scenario.js';
import { allModels } from '../search/models.js';
import { runSearch } from '../search/search.js';

/** One job: a search model by its index, or a run of the simulator. */
export type TrialJob = { readonly model_index: number } | { readonly run: SeedRunOptions };
/** `violation`: null if none was found. `thrown`: an exception that no part of the simulation expects. */
export type TrialReport = { readonly violation: string | null } | { readonly thrown: string };

async function runJob(job: TrialJob): Promise<string | null> {
  if ('run' in job) return (await runSeed(job.run)).violation;
  const models = allModels().slice(job.model_index, job.model_index + 1);
  const [violation] = runSearch({ models, violations_max: 1 }).violations;
  return violation === undefined ? null : `${violation.invariant}: ${violation.message} (${violation.model})`;
}

process.on('message', (job: TrialJob) => {
  runJob(job).then(
    (violation) => process.send?.({ violation } satisfies TrialReport),
    (error) => process.send?.({ thrown: String(error) } satisfies TrialReport),
  );
});
