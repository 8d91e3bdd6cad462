import { z } from 'zod';
import { budget } from './fields.js';
import { THRESHOLDS, type Thresholds } from './profile.js';
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
                per_profile: z.record(z.string(), budget).nullish(),
              }),
            )
            .nullish(),
        })
        .nullish(),
    })
    .nullish(),
});

/** `intentengine_config.yml` of the family: when an agent's work goes to a human, by profile. */
export function readThresholds(file: YamlFile): (profile: string) => Thresholds {
  const triggers = file.fits(schema)?.escalation?.probabilistic_to_human?.triggers ?? [];
  const of = (name: keyof Thresholds, profile: string): number => {
    const trigger = triggers.find((entry) => entry.name === name);
    return trigger?.per_profile?.[profile] ?? trigger?.default ?? THRESHOLDS[name];
  };
  return (profile) => ({
    max_iterations: of('max_iterations', profile),
    stuck_threshold: of('stuck_threshold', profile),
  });
}
