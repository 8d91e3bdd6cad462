import { z } from 'zod';
import type { ModuleMap } from '../methodology.js';
import { orElse, shortText, shortTexts } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const modules = orElse(shortTexts, []).transform((names) => [...new Set(names)]);
const byName = orElse(z.record(shortText, modules), {});
const schema = z.object({ feature_module_map: byName, dependency_dag: byName });

export const parseModules = (file: YamlFile): ModuleMap | null => file.parse(schema);
