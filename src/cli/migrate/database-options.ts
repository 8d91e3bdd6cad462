import type { DatabaseFeature, DatabaseFeatureStep, Migrator } from '../../stores/migrator.js';
import { wrongUsage } from '../exit.js';

interface OptionFlags {
  readonly pointInTimeRecovery?: boolean | undefined;
  readonly streams?: boolean | undefined;
}

export const OPTION_NAMES: Readonly<Record<DatabaseFeature, string>> = {
  point_in_time_recovery: 'point-in-time recovery',
  streams: 'the stream',
};

/** The DynamoDB options that the command line switches on. */
export const requestedOptions = ({
  pointInTimeRecovery,
  streams,
}: OptionFlags): readonly DatabaseFeature[] => [
  ...(pointInTimeRecovery === true ? (['point_in_time_recovery'] as const) : []),
  ...(streams === true ? (['streams'] as const) : []),
];

/** Refuses options for features that this store does not have, before anything is changed. */
export async function assertHasFeatures(
  store: string,
  migrator: Migrator | null,
  options: OptionFlags,
): Promise<void> {
  if (requestedOptions(options).length === 0 || migrator?.features !== undefined) return;
  await migrator?.close();
  throw wrongUsage(
    `--point-in-time-recovery and --streams are for dynamodb:// stores, not for ${store}. Omit them.`,
  );
}

export const featuresText = (steps: readonly DatabaseFeatureStep[]): string =>
  steps
    .map(({ feature, table, statement }) => `-- ${OPTION_NAMES[feature]} of ${table}\n${statement};`)
    .join('\n\n');

export function tablesByFeature(
  steps: readonly DatabaseFeatureStep[],
): ReadonlyMap<DatabaseFeature, string[]> {
  const tables = new Map<DatabaseFeature, string[]>();
  for (const { feature, table } of steps) tables.set(feature, [...(tables.get(feature) ?? []), table]);
  return tables;
}
