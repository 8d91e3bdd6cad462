import { isObject } from '../../../events/plain-data.js';
import { type EngineSettings, engineSettingsSchema } from '../engine-settings.js';
import type { YamlFile } from './yaml-file.js';

/**
 * Parses `engine.yml`. Null if the file is empty or has any fault: with only its valid parts, a budget could be missing.
 */
export function parseEngineSettings(file: YamlFile): EngineSettings | null {
  if (file.value === null) return null;
  return file.parse(engineSettingsSchema, withoutEmptySections(file.value));
}

/** A section whose lines are all comments is null in YAML, and counts as missing. */
function withoutEmptySections(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, section]) => section !== null));
}
