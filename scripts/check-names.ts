import { nameFaults } from './names.js';
import { dashboardSources, reportFaults, typescriptSources } from './source-files.js';

// Apart: the dashboard may call a type as the part of the contract that it shows, such as `Feature`.
const groups = [typescriptSources(), dashboardSources()];
const faults = groups.flatMap((sources) => nameFaults(sources));

if (faults.length === 0) process.stdout.write(`${groups.flat().length} files have valid names.\n`);
reportFaults(faults);
