import { nameFaults } from './names.js';
import { reportFaults, typescriptSources } from './source-files.js';

const sources = typescriptSources();
const faults = nameFaults(sources);

if (faults.length === 0) process.stdout.write(`${sources.length} files have valid names.\n`);
reportFaults(faults);
