import { z } from 'zod';
import type { ModuleMap } from '../methodology.js';
import { shortText } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const modules = z.array(shortText).max(1000);
const byName = z.record(shortText, modules.nullable());
const schema = z.object({ feature_module_map: byName.nullish(), dependency_dag: byName.nullish() });

export function parseModules(file: YamlFile): ModuleMap | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  return {
    feature_module_map: uniqueLists(parsed.feature_module_map),
    dependency_dag: uniqueLists(parsed.dependency_dag),
  };
}

const uniqueLists = (lists: Record<string, string[] | null> | null | undefined): Record<string, string[]> =>
  Object.fromEntries(Object.entries(lists ?? {}).map(([name, list]) => [name, [...new Set(list ?? [])]]));
