import { isObject } from '../../../events/plain-data.js';
import { type EngineSettings, engineSettingsSchema } from '../engine-settings.js';
import type { YamlFile } from './yaml-file.js';

/**
 * Parses `engine.yml`. Null if it is empty, or has any fault: settings without one of their parts might have no budget.
 */
export function parseEngineSettings(file: YamlFile): EngineSettings | null {
  if (file.value === null) return null;
  return file.parse(engineSettingsSchema, withoutEmptySections(file.value));
}

/** A section whose lines are all comments is null in YAML, and says as little as a missing one. */
function withoutEmptySections(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, section]) => section !== null));
}
