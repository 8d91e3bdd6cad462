# Runs in the sandbox, before and after the command. The work copy is read-only: the command works on a duplicate in
# memory, whose size is limited and which ends with the sandbox. Only the report is passed on, through file
# descriptor 3, after lines about the progress of this script.
# Arguments: the path of the report or '', its maximum size in bytes, the limit of processes, the command.
report=$1
report_bytes_max=$2
processes_max=$3
shift 3
cp -rP /copy/. /project/ && cd /project || exit 125
if [ -n "$report" ]; then rm -rf -- "./$report"; fi
echo started >&3
"$@" 3>&-
code=$?
# End the processes that the command has left behind: the rest of this script needs processes, and nothing may change
# the report any more.
set -- /proc/[0-9]*
if [ "$(($# + 8))" -ge "$processes_max" ]; then echo crowded >&3; fi
kill -KILL -1 2>/dev/null
df -P /project /tmp 2>/dev/null | while read -r _ _ _ free _; do
  if [ "$free" -lt 64 ] 2>/dev/null; then echo full >&3; fi
done
if [ -n "$report" ] && [ -f "./$report" ]; then
  echo report >&3
  head -c "$report_bytes_max" "./$report" >&3
else
  echo end >&3
fi
exit "$code"
