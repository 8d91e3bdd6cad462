import { nameFaults } from './names.js';
import { dashboardSources, reportFaults, typescriptSources } from './source-files.js';

// Two groups, because a type of the dashboard may have the name of the contract type that it shows, such as `Feature`.
const groups = [typescriptSources(), dashboardSources()];
const faults = groups.flatMap((sources) => nameFaults(sources));

if (faults.length === 0) process.stdout.write(`${groups.flat().length} files have valid names.\n`);
reportFaults(faults);
