import { z } from 'zod';
import { iterationCount } from './fields.js';
import { DEFAULT_THRESHOLDS, type IterationThresholds } from './profile.js';
import type { YamlFile } from './yaml-file.js';

const schema = z.object({
  escalation: z
    .object({
      probabilistic_to_human: z
        .object({
          triggers: z
            .array(
              z.object({
                name: z.string(),
                default: z.number().nullish(),
                per_profile: z.record(z.string(), iterationCount).nullish(),
              }),
            )
            .nullish(),
        })
        .nullish(),
    })
    .nullish(),
});

/** Parses `intentengine_config.yml` of this family of tools: when an agent's work goes to a human, by profile. */
export function parseThresholds(file: YamlFile): (profile: string) => IterationThresholds {
  const triggers = file.parse(schema)?.escalation?.probabilistic_to_human?.triggers ?? [];
  const thresholdFor = (name: keyof IterationThresholds, profile: string): number => {
    const trigger = triggers.find((entry) => entry.name === name);
    return trigger?.per_profile?.[profile] ?? trigger?.default ?? DEFAULT_THRESHOLDS[name];
  };
  return (profile) => ({
    max_iterations: thresholdFor('max_iterations', profile),
    stuck_threshold: thresholdFor('stuck_threshold', profile),
  });
}
