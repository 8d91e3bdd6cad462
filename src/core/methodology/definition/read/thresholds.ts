import { z } from 'zod';
import { iterationCount, optionalSection, orElse } from './fields.js';
import type { IterationThresholds } from './profile.js';
import type { YamlFile } from './yaml-file.js';

const triggerSchema = z.object({
  name: z.string(),
  default: z.number().nullish(),
  per_profile: z.record(z.string(), iterationCount).nullish(),
});
const schema = z.object({
  escalation: optionalSection({
    probabilistic_to_human: optionalSection({ triggers: orElse(z.array(triggerSchema), []) }),
  }),
});

/** Parses `intentengine_config.yml` of other Genesis tools, which sets by profile when an agent's work goes to a person. */
export function parseThresholds(
  file: YamlFile,
  defaults: IterationThresholds,
): (profile: string) => IterationThresholds {
  const triggers = file.parse(schema)?.escalation.probabilistic_to_human.triggers ?? [];
  const thresholdFor = (name: keyof IterationThresholds, profile: string): number => {
    const trigger = triggers.find((entry) => entry.name === name);
    return trigger?.per_profile?.[profile] ?? trigger?.default ?? defaults[name];
  };
  return (profile) => ({
    max_iterations: thresholdFor('max_iterations', profile),
    stuck_threshold: thresholdFor('stuck_threshold', profile),
  });
}
