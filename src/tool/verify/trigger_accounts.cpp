#include "src/tool/verify/trigger_accounts.hpp"

#include <string>

#include "src/config/text/human_text.hpp"

namespace opdump::tool {

TriggerAccounts::Account& TriggerAccounts::account_of(const ToldFiring& trigger) {
  Account& account = accounts_[trigger.trigger];
  account.trigger.trigger = trigger.trigger;
  account.trigger.cause = trigger.cause;
  return account;
}

void TriggerAccounts::add_firing(const ToldFiring& firing) {
  ++account_of(firing).fired;
  told_.fired(firing);
}

void TriggerAccounts::add_counts(std::uint64_t number, const ToldFiring& trigger, const FiringCounts& counts,
                                 bool may_be_cut) {
  Account& account = account_of(trigger);
  account.counts = counts;
  account.counted = true;
  if (counts.fired != account.fired && !may_be_cut)
    told_.problem(number, "trigger " + std::to_string(trigger.trigger) + " counts " +
                              count_text(counts.fired, "firing") + ", and the lines before tell of " +
                              std::to_string(account.fired));
}

void TriggerAccounts::tell(bool closed) {
  for (const auto& [number, account] : accounts_) {
    if (account.counted) {
      told_.trigger(account.trigger, account.counts);
    } else if (closed) {
      told_.problem(0, "nothing tells how often trigger " + std::to_string(number) + " was held back");
    }
  }
}

}  // namespace opdump::tool
