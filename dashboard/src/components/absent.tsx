/** A cell without a value; left out where the rows of the table become blocks. */
export const Absent = () => <span className="absent">–</span>;
